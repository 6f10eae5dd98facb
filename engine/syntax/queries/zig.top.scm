(source_file
  (variable_declaration
    "const"
    .
    (identifier) @name) @definition.constant)

(source_file
  (variable_declaration
    .
    (identifier) @name) @definition.variable)
