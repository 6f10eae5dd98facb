(chunk
  (variable_declaration
    (assignment_statement
      (variable_list name: (identifier) @name))) @definition.variable)

(chunk
  (assignment_statement
    (variable_list name: [(identifier) (dot_index_expression)] @name)) @definition.variable)
