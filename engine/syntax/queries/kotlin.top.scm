(source_file
  (property_declaration
    "val"
    (variable_declaration . (identifier) @name)) @definition.constant)

(source_file
  (property_declaration
    (variable_declaration . (identifier) @name)) @definition.variable)
