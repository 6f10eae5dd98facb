; Matched against the top of the file only.

(program
  (ambient_declaration
    (lexical_declaration
      kind: "const"
      (variable_declarator name: (identifier) @name)) @definition.constant))

(program
  (ambient_declaration
    [
      (lexical_declaration (variable_declarator name: (identifier) @name))
      (variable_declaration (variable_declarator name: (identifier) @name))
    ] @definition.variable))

(program
  (export_statement
    declaration: (ambient_declaration
      (lexical_declaration
        kind: "const"
        (variable_declarator name: (identifier) @name)) @definition.constant)))

(program
  (export_statement
    declaration: (ambient_declaration
      [
        (lexical_declaration (variable_declarator name: (identifier) @name))
        (variable_declaration (variable_declarator name: (identifier) @name))
      ] @definition.variable)))
