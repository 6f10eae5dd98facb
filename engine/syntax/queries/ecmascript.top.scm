; Matched against the top of the file only.

(program
  (expression_statement
    (_ left: (_) @target "=" right: (identifier) @exported.commonjs)))
(program
  (expression_statement
    (_ left: (_) @target "=" right: (_ (shorthand_property_identifier) @exported.commonjs))))
(program
  (expression_statement
    (_ left: (_) @target "=" right: (_ (_ key: (_) value: (identifier) @exported.commonjs)))))
(program
  (expression_statement
    (_ left: (_) @target "=" right: (_ "=" right: (identifier) @exported.commonjs))))
(program
  (variable_declaration
    (variable_declarator
      name: (identifier) @exported.commonjs
      value: (_ left: (_) @target "="))))

(program
  (expression_statement
    (_
      left: (_)
      "="
      right: (_
        (_
          key: (_) @name
          value: [(arrow_function) (function_expression)] @holder) @definition.method))))

(program
  (export_statement
    value: (_
      (_
        key: (_) @name
        value: [(arrow_function) (function_expression)] @holder) @definition.method)))

(program
  [
    (lexical_declaration
      (variable_declarator
        value: (_
          (_
            key: (_) @name
            value: [(arrow_function) (function_expression)] @holder) @definition.method)))
    (variable_declaration
      (variable_declarator
        value: (_
          (_
            key: (_) @name
            value: [(arrow_function) (function_expression)] @holder) @definition.method)))
    (export_statement
      declaration: (lexical_declaration
        (variable_declarator
          value: (_
            (_
              key: (_) @name
              value: [(arrow_function) (function_expression)] @holder) @definition.method))))
  ])

(program
  (lexical_declaration
    kind: "const"
    (variable_declarator name: (identifier) @name)) @definition.constant)

(program
  (lexical_declaration
    (variable_declarator name: (identifier) @name)) @definition.variable)

(program
  (variable_declaration
    (variable_declarator name: (identifier) @name)) @definition.variable)

(program
  (export_statement
    declaration: (lexical_declaration
      kind: "const"
      (variable_declarator name: (identifier) @name)) @definition.constant))

(program
  (export_statement
    declaration: (lexical_declaration
      (variable_declarator name: (identifier) @name)) @definition.variable))

(program
  (export_statement
    declaration: (variable_declaration
      (variable_declarator name: (identifier) @name)) @definition.variable))
