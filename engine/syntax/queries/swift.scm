; Names and bodies are read from fields: patterns that ask for them take long to compile.
(class_declaration
  declaration_kind: ["class" "actor" "struct" "enum"] @keyword) @definition.declaration_keyword

(_
  declaration_kind: "extension"
  name: (_) @name) @scope

(protocol_declaration) @definition.interface

(function_declaration) @definition.function

(protocol_function_declaration
  name: (simple_identifier) @name) @definition.method

(init_declaration) @definition.constructor

(typealias_declaration) @definition.type

(class_body
  (_
    name: (_ bound_identifier: (_) @name)
    computed_value: (_)? @body) @definition.property)

(enum_class_body
  (_
    name: (_ bound_identifier: (_) @name)
    computed_value: (_)? @body) @definition.property)

(protocol_property_declaration
  name: (_ bound_identifier: (_) @name)) @definition.property
