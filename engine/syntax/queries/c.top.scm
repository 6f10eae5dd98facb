; Matched against the top of the file only.

; A block after a macro: TEST_CASE("name") { … }.
(translation_unit (compound_statement) @scope.block)

(translation_unit
  (declaration
    declarator: (_
      declarator: [
        (identifier) @name
        (_ declarator: (identifier) @name "[")
        (_ declarator: (_ declarator: (identifier) @name "[") "[")
        (_ "*" declarator: (identifier) @name)
      ]
      value: (_))) @definition.variable)

(translation_unit
  (_
    (declaration
      declarator: (_
        declarator: [
          (identifier) @name
          (_ declarator: (identifier) @name "[")
          (_ "*" declarator: (identifier) @name)
        ]
        value: (_))) @definition.variable))
