(namespace_definition
  name: (_) @name
  body: (_) @body) @definition.namespace

(namespace_definition
  name: (_) @name
  !body) @scope.file

(class_declaration) @definition.class

(interface_declaration) @definition.interface

(trait_declaration) @definition.trait

(enum_declaration) @definition.enum

(method_declaration) @definition.method

(function_definition) @definition.function

(const_declaration
  (const_element . (name) @name)) @definition.constant
