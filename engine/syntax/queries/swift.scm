(class_declaration
  declaration_kind: "class"
  name: (_) @name
  body: (_) @body) @definition.class

(class_declaration
  declaration_kind: "actor"
  name: (_) @name
  body: (_) @body) @definition.class

(class_declaration
  declaration_kind: "struct"
  name: (_) @name
  body: (_) @body) @definition.struct

(class_declaration
  declaration_kind: "enum"
  name: (_) @name
  body: (_) @body) @definition.enum

(class_declaration
  declaration_kind: "extension"
  name: (_) @name) @scope

(protocol_declaration
  name: (_) @name
  body: (_) @body) @definition.interface

; Its name and body are read from its fields: a pattern that asks for them takes 0.2 s to compile.
(function_declaration) @definition.function

(protocol_function_declaration
  name: (simple_identifier) @name) @definition.method

(init_declaration
  "init" @name
  body: (_)? @body) @definition.constructor

(typealias_declaration
  name: (type_identifier) @name) @definition.type

(class_body
  (property_declaration
    name: (pattern bound_identifier: (_) @name)
    computed_value: (_)? @body) @definition.property)

(enum_class_body
  (property_declaration
    name: (pattern bound_identifier: (_) @name)
    computed_value: (_)? @body) @definition.property)

(protocol_property_declaration
  name: (pattern bound_identifier: (_) @name)) @definition.property
