(source_file
  (_
    "const"
    .
    (identifier) @name) @definition.constant)

(source_file
  (variable_declaration
    .
    (identifier) @name) @definition.variable)
