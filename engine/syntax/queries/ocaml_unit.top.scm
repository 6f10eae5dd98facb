(compilation_unit
  (_
    ["let" "and"] @from
    .
    [
      (_
        .
        pattern: [(value_name) @name (parenthesized_operator (_) @name)]
        .
        (parameter)
        body: (_)? @body)
      (_
        .
        pattern: [(value_name) @name (parenthesized_operator (_) @name)]
        body: [(fun_expression) (function_expression)] @body)
    ] @definition.function))

(compilation_unit
  (_
    ["let" "and"] @from
    .
    (_
      .
      pattern: [
        (value_name) @name
        (parenthesized_operator (_) @name)
        (_ (value_name) @name ",")
        (_ "," (value_name) @name)
        (parenthesized_pattern (_ (value_name) @name ","))
        (parenthesized_pattern (_ "," (value_name) @name))
      ]) @definition.constant))

; The root of a text that fits the grammar badly.
(ERROR
  (_
    ["let" "and"] @from
    .
    [
      (_
        .
        pattern: [(value_name) @name (parenthesized_operator (_) @name)]
        .
        (parameter)
        body: (_)? @body)
      (_
        .
        pattern: [(value_name) @name (parenthesized_operator (_) @name)]
        body: [(fun_expression) (function_expression)] @body)
    ] @definition.function))

(ERROR
  (_
    ["let" "and"] @from
    .
    (_
      .
      pattern: [
        (value_name) @name
        (parenthesized_operator (_) @name)
        (_ (value_name) @name ",")
        (_ "," (value_name) @name)
        (parenthesized_pattern (_ (value_name) @name ","))
        (parenthesized_pattern (_ "," (value_name) @name))
      ]) @definition.constant))
