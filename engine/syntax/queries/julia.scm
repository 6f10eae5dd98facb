; function f(…) end, function f(…)::T end, function f(…)::T where {…} end
(function_definition
  (signature
    .
    (_
      .
      [
        (identifier) @name
        (operator) @name
        (_ . (identifier) @name (curly_expression))
        (_
          .
          (_ value: (_) @receiver (identifier) @name .)
          (curly_expression))
        (_
          value: (_) @receiver
          [
            (identifier) @name
            (_ ":" [(operator) @name (_ "(" (operator) @name)])
          ]
          .)
      ]
      (argument_list)))
  .
  (_)? @body) @definition.function

(function_definition
  (signature
    .
    (_
      .
      (_
        .
        [
          (identifier) @name
          (operator) @name
          (_ . (identifier) @name (curly_expression))
          (_
            .
            (_ value: (_) @receiver (identifier) @name .)
            (curly_expression))
          (_
            value: (_) @receiver
            [
              (identifier) @name
              (_ ":" [(operator) @name (_ "(" (operator) @name)])
            ]
            .)
        ]
        (argument_list))))
  .
  (_)? @body) @definition.function

(function_definition
  (signature
    .
    (_
      .
      (_
        .
        (_
          .
          [
            (identifier) @name
            (operator) @name
            (_ . (identifier) @name (curly_expression))
            (_
              .
              (_ value: (_) @receiver (identifier) @name .)
              (curly_expression))
            (_
              value: (_) @receiver
              [
                (identifier) @name
                (_ ":" [(operator) @name (_ "(" (operator) @name)])
              ]
              .)
          ]
          (argument_list)))))
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
      (_ . (identifier) @name (curly_expression))
      (_
        .
        (_ value: (_) @receiver (identifier) @name .)
        (curly_expression))
      (_
        value: (_) @receiver
        [
          (identifier) @name
          (_ ":" [(operator) @name (_ "(" (operator) @name)])
        ]
        .)
    ])
  (operator) @body) @definition.function

(assignment
  .
  [
    (_
      .
      (call_expression
        .
        [
          (identifier) @name
          (operator) @name
          (_ . (identifier) @name (curly_expression))
          (_
            .
            (_ value: (_) @receiver (identifier) @name .)
            (curly_expression))
          (_
            value: (_) @receiver
            [
              (identifier) @name
              (_ ":" [(operator) @name (_ "(" (operator) @name)])
            ]
            .)
        ])
      ["::" "where"])
    (_
      .
      (_
        .
        (call_expression
          .
          [
            (identifier) @name
            (operator) @name
            (_ . (identifier) @name (curly_expression))
            (_
              .
              (_ value: (_) @receiver (identifier) @name .)
              (curly_expression))
            (_
              value: (_) @receiver
              [
                (identifier) @name
                (_ ":" [(operator) @name (_ "(" (operator) @name)])
              ]
              .)
          ]))
      "where")
  ]
  (operator) @body) @definition.function

; (f::Type)(…): objects of the type can be called.
(function_definition
  (signature
    [
      (_
        .
        (_
          "("
          (_ (identifier) "::" [(identifier) @name (_ . (identifier) @name (curly_expression))]))
        (argument_list))
      (_
        .
        (_
          .
          (_
            "("
            (_ (identifier) "::" [(identifier) @name (_ . (identifier) @name (curly_expression))]))
          (argument_list))
        "where")
    ])
  .
  (_)? @body) @definition.function

(assignment
  .
  (call_expression
    .
    (_
      "("
      (_ (identifier) "::" [(identifier) @name (_ . (identifier) @name (curly_expression))])))
  (operator) @body) @definition.function

(macro_definition
  (signature (_ . [(identifier) (operator)] @name (argument_list)))
  .
  (_)? @body) @definition.macro

(struct_definition
  (type_head
    .
    [
      (identifier) @name
      (_ . (identifier) @name (curly_expression))
      (_
        .
        [(identifier) @name (_ . (identifier) @name (curly_expression))]
        (operator))
    ])
  .
  (_)? @body) @definition.struct

(abstract_definition
  (type_head
    .
    [
      (identifier) @name
      (_ . (identifier) @name (curly_expression))
      (_
        .
        [(identifier) @name (_ . (identifier) @name (curly_expression))]
        (operator))
    ])) @definition.type

(primitive_definition
  (type_head
    .
    [
      (identifier) @name
      (_ . (identifier) @name (curly_expression))
      (_
        .
        [(identifier) @name (_ . (identifier) @name (curly_expression))]
        (operator))
    ])) @definition.type

(struct_definition
  [
    (identifier) @name
    (_ . (identifier) @name "::")
    (assignment . (identifier) @name)
    (assignment . (_ . (identifier) @name "::"))
  ] @definition.field)

(module_definition name: (_) @name . (_)? @body) @definition.module

(const_statement
  (_
    .
    [
      (identifier) @name
      (operator) @name
      (_ . (identifier) @name "::")
      (_ . (identifier) @name (curly_expression))
      (open_tuple (identifier) @name)
    ]
    (operator))) @definition.constant

(module_definition
  [
    (assignment . (identifier) @name)
    (assignment . (_ . (identifier) @name "::"))
    (global_statement (assignment . (identifier) @name))
  ] @definition.variable)

; @enum Name …
(macrocall_expression
  (macro_identifier) @keyword
  (macro_argument_list
    .
    [(identifier) @name (_ . (identifier) @name "::")])) @definition.macro_keyword

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
(export_statement [(identifier) @exported (operator) @exported (_ "@" (_) @exported)])
(public_statement [(identifier) @exported (operator) @exported (_ "@" (_) @exported)])
