(namespace_definition
  name: (_) @name
  body: (_) @body) @definition.namespace

(namespace_definition
  name: (_) @name
  !body) @scope.file

(class_declaration
  name: (_) @name
  body: (_) @body) @definition.class

(interface_declaration
  name: (_) @name
  body: (_) @body) @definition.interface

(trait_declaration
  name: (_) @name
  body: (_) @body) @definition.trait

(enum_declaration
  name: (_) @name
  body: (_) @body) @definition.enum

(method_declaration
  name: (_) @name
  body: (_)? @body) @definition.method

(function_definition
  name: (_) @name
  body: (_) @body) @definition.function

(const_declaration
  (const_element . (name) @name)) @definition.constant
