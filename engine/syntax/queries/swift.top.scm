(source_file
  (property_declaration
    (value_binding_pattern mutability: "let")
    name: (pattern bound_identifier: (_) @name)) @definition.constant)

(source_file
  (property_declaration
    name: (pattern bound_identifier: (_) @name)) @definition.variable)
