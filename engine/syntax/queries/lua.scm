(function_declaration
  name: (method_index_expression) @name
  body: (_)? @body) @definition.method

(function_declaration
  name: (_) @name
  body: (_)? @body) @definition.function

; local name = function () … end
(variable_declaration
  (assignment_statement
    (variable_list . name: [(identifier) (dot_index_expression)] @name)
    (expression_list . value: (function_definition body: (_)? @body)))) @definition.function

(assignment_statement
  (variable_list . name: [(identifier) (dot_index_expression)] @name)
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function

; { name = function () … end }
(field
  name: (identifier) @name
  value: (function_definition body: (_)? @body)) @definition.method
