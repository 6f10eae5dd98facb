(chunk
  (variable_declaration
    (assignment_statement
      (variable_list name: (identifier) @name))) @definition.variable)

(chunk
  (assignment_statement
    (variable_list name: [(identifier) (dot_index_expression)] @name)) @definition.variable)

(chunk
  (variable_declaration
    (assignment_statement
      (expression_list
        (table_constructor
          (field
            name: (identifier) @name
            value: (function_definition body: (_)? @body)) @definition.method)))))

(chunk
  (assignment_statement
    (expression_list
      (table_constructor
        (field
          name: (identifier) @name
          value: (function_definition body: (_)? @body)) @definition.method))))

(chunk
  (return_statement
    (expression_list
      (table_constructor
        (field
          name: (identifier) @name
          value: (function_definition body: (_)? @body)) @definition.method))))
