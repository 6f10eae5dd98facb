; TypeScript and TSX, in addition to ecmascript.scm.

(ambient_declaration (_) @inner) @wrapper

(decorator) @attribute

(abstract_class_declaration
  name: (_) @name
  body: (class_body) @body) @definition.class

(interface_declaration
  name: (_) @name
  body: (_) @body) @definition.interface

(type_alias_declaration name: (_) @name) @definition.type

(enum_declaration
  name: (_) @name
  body: (_) @body) @definition.enum

(internal_module
  name: (_) @name
  body: (_) @body) @definition.namespace

(module
  name: (_) @name
  body: (_) @body) @definition.namespace

(function_signature name: (_) @name) @definition.function

(method_signature name: (_) @name) @definition.method

(abstract_method_signature name: (_) @name) @definition.method

(public_field_definition
  value: [(arrow_function) (function_expression)] @holder) @definition.method
