(compilation_unit
  (value_definition
    ["let" "and"] @from
    .
    [
      (let_binding
        .
        pattern: [(value_name) @name (parenthesized_operator (_) @name)]
        .
        (parameter)
        body: (_)? @body)
      (let_binding
        .
        pattern: [(value_name) @name (parenthesized_operator (_) @name)]
        body: [(fun_expression) (function_expression)] @body)
    ] @definition.function))

(compilation_unit
  (value_definition
    ["let" "and"] @from
    .
    (let_binding
      .
      pattern: [
        (value_name) @name
        (parenthesized_operator (_) @name)
        (tuple_pattern (value_name) @name)
        (parenthesized_pattern (tuple_pattern (value_name) @name))
      ]) @definition.constant))

; The root of a text that fits the grammar badly.
(ERROR
  (value_definition
    ["let" "and"] @from
    .
    [
      (let_binding
        .
        pattern: [(value_name) @name (parenthesized_operator (_) @name)]
        .
        (parameter)
        body: (_)? @body)
      (let_binding
        .
        pattern: [(value_name) @name (parenthesized_operator (_) @name)]
        body: [(fun_expression) (function_expression)] @body)
    ] @definition.function))

(ERROR
  (value_definition
    ["let" "and"] @from
    .
    (let_binding
      .
      pattern: [
        (value_name) @name
        (parenthesized_operator (_) @name)
        (tuple_pattern (value_name) @name)
        (parenthesized_pattern (tuple_pattern (value_name) @name))
      ]) @definition.constant))
