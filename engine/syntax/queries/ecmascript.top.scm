; Matched against the top of the file only.

(program
  (expression_statement
    (assignment_expression left: (_) @target right: (identifier) @exported.commonjs)))
(program
  (expression_statement
    (assignment_expression
      left: (_) @target
      right: (object (shorthand_property_identifier) @exported.commonjs))))
(program
  (expression_statement
    (assignment_expression
      left: (_) @target
      right: (object (pair value: (identifier) @exported.commonjs)))))
(program
  (expression_statement
    (assignment_expression
      left: (_) @target
      right: (assignment_expression right: (identifier) @exported.commonjs))))
(program
  (variable_declaration
    (variable_declarator
      name: (identifier) @exported.commonjs
      value: (assignment_expression left: (_) @target))))

(program
  (expression_statement
    (assignment_expression
      right: (object
        (pair
          key: (_) @name
          value: [
            (arrow_function body: (_) @body)
            (function_expression body: (_) @body)
          ]) @definition.method))))

(program
  (export_statement
    value: (object
      (pair
        key: (_) @name
        value: [
          (arrow_function body: (_) @body)
          (function_expression body: (_) @body)
        ]) @definition.method)))

(program
  [
    (lexical_declaration
      (variable_declarator
        value: (object
          (pair
            key: (_) @name
            value: [
              (arrow_function body: (_) @body)
              (function_expression body: (_) @body)
            ]) @definition.method)))
    (variable_declaration
      (variable_declarator
        value: (object
          (pair
            key: (_) @name
            value: [
              (arrow_function body: (_) @body)
              (function_expression body: (_) @body)
            ]) @definition.method)))
    (export_statement
      declaration: (lexical_declaration
        (variable_declarator
          value: (object
            (pair
              key: (_) @name
              value: [
                (arrow_function body: (_) @body)
                (function_expression body: (_) @body)
              ]) @definition.method))))
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
