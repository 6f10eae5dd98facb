(namespace_declaration) @definition.namespace

(file_scoped_namespace_declaration name: (_) @name) @scope.file

(class_declaration) @definition.class

(record_declaration) @definition.class

(struct_declaration) @definition.struct

(interface_declaration) @definition.interface

(enum_declaration) @definition.enum

(delegate_declaration) @definition.type

(method_declaration) @definition.method

(constructor_declaration
  name: (_) @name
  (constructor_initializer)? @body
  body: (_)? @body) @definition.constructor

(destructor_declaration
  "~" @name
  name: (_) @until
  body: (_)? @body) @definition.method

(operator_declaration
  "operator" @name
  operator: _ @until
  body: (_)? @body) @definition.method

(conversion_operator_declaration
  "operator" @name
  type: (_) @until
  body: (_)? @body) @definition.method

(local_function_statement
  name: (_) @name
  body: (_) @body) @definition.function

(property_declaration
  name: (_) @name
  [
    accessors: (_) @body
    value: (_) @body
  ]) @definition.property

(event_field_declaration
  (variable_declaration
    (variable_declarator name: (_) @name))) @definition.property

(field_declaration
  (modifier "const")
  (variable_declaration
    (variable_declarator name: (_) @name))) @definition.constant

(field_declaration
  (modifier "static")
  (modifier "readonly")
  (variable_declaration
    (variable_declarator name: (_) @name))) @definition.constant

(field_declaration
  (modifier "readonly")
  (modifier "static")
  (variable_declaration
    (variable_declarator name: (_) @name))) @definition.constant
