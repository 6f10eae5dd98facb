; function f(…) end, function f(…)::T end, function f(…)::T where {…} end
(function_definition
  (signature
    .
    (call_expression
      .
      [
        (identifier) @name
        (operator) @name
        (parametrized_type_expression . (identifier) @name)
        (parametrized_type_expression
          .
          (field_expression value: (_) @receiver (identifier) @name .))
        (field_expression
          value: (_) @receiver
          [
            (identifier) @name
            (quote_expression [(operator) @name (parenthesized_expression (operator) @name)])
          ]
          .)
      ]))
  .
  (_)? @body) @definition.function

(function_definition
  (signature
    .
    (_
      .
      (call_expression
        .
        [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
          (parametrized_type_expression
            .
            (field_expression value: (_) @receiver (identifier) @name .))
          (field_expression
            value: (_) @receiver
            [
              (identifier) @name
              (quote_expression [(operator) @name (parenthesized_expression (operator) @name)])
            ]
            .)
        ])))
  .
  (_)? @body) @definition.function

(function_definition
  (signature
    .
    (where_expression
      .
      (_
        .
        (call_expression
          .
          [
            (identifier) @name
            (operator) @name
            (parametrized_type_expression . (identifier) @name)
            (parametrized_type_expression
              .
              (field_expression value: (_) @receiver (identifier) @name .))
            (field_expression
              value: (_) @receiver
              [
                (identifier) @name
                (quote_expression [(operator) @name (parenthesized_expression (operator) @name)])
              ]
              .)
          ]))))
  .
  (_)? @body) @definition.function

(function_definition (signature . (identifier) @name)) @definition.function

; f(…) = …
(assignment
  .
  (call_expression
    .
    [
      (identifier) @name
      (operator) @name
      (parametrized_type_expression . (identifier) @name)
      (parametrized_type_expression
        .
        (field_expression value: (_) @receiver (identifier) @name .))
      (field_expression
        value: (_) @receiver
        [
          (identifier) @name
          (quote_expression [(operator) @name (parenthesized_expression (operator) @name)])
        ]
        .)
    ])
  (operator) @body) @definition.function

(assignment
  .
  [
    (typed_expression
      .
      (call_expression
        .
        [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
          (parametrized_type_expression
            .
            (field_expression value: (_) @receiver (identifier) @name .))
          (field_expression
            value: (_) @receiver
            [
              (identifier) @name
              (quote_expression [(operator) @name (parenthesized_expression (operator) @name)])
            ]
            .)
        ]))
    (where_expression
      .
      (call_expression
        .
        [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
          (parametrized_type_expression
            .
            (field_expression value: (_) @receiver (identifier) @name .))
          (field_expression
            value: (_) @receiver
            [
              (identifier) @name
              (quote_expression [(operator) @name (parenthesized_expression (operator) @name)])
            ]
            .)
        ]))
    (where_expression
      .
      (_
        .
        (call_expression
          .
          [
            (identifier) @name
            (operator) @name
            (parametrized_type_expression . (identifier) @name)
            (parametrized_type_expression
              .
              (field_expression value: (_) @receiver (identifier) @name .))
            (field_expression
              value: (_) @receiver
              [
                (identifier) @name
                (quote_expression [(operator) @name (parenthesized_expression (operator) @name)])
              ]
              .)
          ])))
  ]
  (operator) @body) @definition.function

; (f::Type)(…): objects of the type can be called.
(function_definition
  (signature
    [
      (call_expression
        .
        (parenthesized_expression
          (typed_expression
            (identifier)
            [(identifier) @name (parametrized_type_expression . (identifier) @name)])))
      (where_expression
        .
        (call_expression
          .
          (parenthesized_expression
            (typed_expression
              (identifier)
              [(identifier) @name (parametrized_type_expression . (identifier) @name)]))))
    ])
  .
  (_)? @body) @definition.function

(assignment
  .
  (call_expression
    .
    (parenthesized_expression
      (typed_expression
        (identifier)
        [(identifier) @name (parametrized_type_expression . (identifier) @name)])))
  (operator) @body) @definition.function

(macro_definition
  (signature (call_expression . [(identifier) (operator)] @name))
  .
  (_)? @body) @definition.macro

(struct_definition
  (type_head
    .
    [
      (identifier) @name
      (parametrized_type_expression . (identifier) @name)
      (binary_expression
        .
        [(identifier) @name (parametrized_type_expression . (identifier) @name)])
    ])
  .
  (_)? @body) @definition.struct

(abstract_definition
  (type_head
    .
    [
      (identifier) @name
      (parametrized_type_expression . (identifier) @name)
      (binary_expression
        .
        [(identifier) @name (parametrized_type_expression . (identifier) @name)])
    ])) @definition.type

(primitive_definition
  (type_head
    .
    [
      (identifier) @name
      (parametrized_type_expression . (identifier) @name)
      (binary_expression
        .
        [(identifier) @name (parametrized_type_expression . (identifier) @name)])
    ])) @definition.type

(struct_definition
  [
    (identifier) @name
    (typed_expression . (identifier) @name)
    (assignment . (identifier) @name)
    (assignment . (typed_expression . (identifier) @name))
  ] @definition.field)

(module_definition name: (_) @name . (_)? @body) @definition.module

(const_statement
  (assignment
    .
    [
      (identifier) @name
      (operator) @name
      (typed_expression . (identifier) @name)
      (parametrized_type_expression . (identifier) @name)
      (open_tuple (identifier) @name)
    ])) @definition.constant

(module_definition
  [
    (assignment . (identifier) @name)
    (assignment . (typed_expression . (identifier) @name))
    (global_statement (assignment . (identifier) @name))
  ] @definition.variable)

; @enum Name …
(macrocall_expression
  (macro_identifier) @keyword
  (macro_argument_list
    .
    [(identifier) @name (typed_expression . (identifier) @name)])) @definition.macro_keyword

; @inline f(…) = …
(macrocall_expression
  (macro_argument_list
    [
      (function_definition)
      (assignment)
      (struct_definition)
      (const_statement)
      (macrocall_expression)
    ] @inner
    .)) @wrapper

(export_statement) @exported.list
(export_statement [(identifier) @exported (operator) @exported (macro_identifier (_) @exported)])
(public_statement [(identifier) @exported (operator) @exported (macro_identifier (_) @exported)])
