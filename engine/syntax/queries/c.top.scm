; Matched against the top of the file only.

; A block after a macro: TEST_CASE("name") { … }.
(translation_unit (compound_statement) @scope.block)

(translation_unit
  (declaration
    declarator: (init_declarator
      declarator: [
        (identifier) @name
        (array_declarator declarator: (identifier) @name)
        (array_declarator declarator: (array_declarator declarator: (identifier) @name))
        (pointer_declarator declarator: (identifier) @name)
      ])) @definition.variable)

(translation_unit
  (_
    (declaration
      declarator: (init_declarator
        declarator: [
          (identifier) @name
          (array_declarator declarator: (identifier) @name)
          (pointer_declarator declarator: (identifier) @name)
        ])) @definition.variable))
