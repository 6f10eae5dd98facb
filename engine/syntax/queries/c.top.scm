; Matched against the top of the file, and against each @top within it: conditions, linkage blocks,
; unreadable parts.

(_ (_ ["#endif" "#elif" "#else"]) @top)

(_ (_ value: (_) body: (_) @top) @top)

; A wildcard is never an ERROR.
(_ (ERROR) @top)
(ERROR (_ ["#endif" "#elif" "#else"]) @top)

; A block after a macro: TEST_CASE("name") { … }.
(translation_unit (compound_statement) @scope.block)

; Variables with a value. That their declaration ends with ";" is asked afterwards: a pattern that
; says so stays open for each of a hundred names until it comes.
(_
  (_
    type: (_)
    declarator: [
      (_ declarator: (identifier) @name value: (_))
      (_ declarator: (_ declarator: (identifier) @name "[") value: (_))
      (_ declarator: (_ declarator: (_ declarator: (identifier) @name "[") "[") value: (_))
      (_ declarator: (_ "*" declarator: (identifier) @name) value: (_))
      (_ declarator: (_ "*" declarator: (_ declarator: (identifier) @name "[")) value: (_))
      (_ declarator: (_ "*" declarator: (_ "*" declarator: (identifier) @name)) value: (_))
      (_
        declarator: (_ declarator: (_ "(" (_ "*" declarator: (identifier) @name)) parameters: (_))
        value: (_))
      (_
        declarator: (_
          declarator: (_ "(" (_ "*" declarator: (_ declarator: (identifier) @name "[")))
          parameters: (_))
        value: (_))
    ]) @definition.variable @ended)

; Variables without one.
(_
  (_
    type: (_)
    declarator: [
      (identifier) @name
      (_ declarator: (identifier) @name "[")
      (_ declarator: (_ declarator: (identifier) @name "[") "[")
      (_ "*" declarator: (identifier) @name)
      (_ "*" declarator: (_ declarator: (identifier) @name "["))
      (_ "*" declarator: (_ "*" declarator: (identifier) @name))
      (_ declarator: (_ "(" (_ "*" declarator: (identifier) @name)) parameters: (_))
    ]) @definition.variable @ended @plain)

; Static ones in unreadable parts, where others may be of a function.
(ERROR
  (_
    (storage_class_specifier)
    type: (_)
    declarator: [
      (_ declarator: (identifier) @name value: (_))
      (_ declarator: (_ declarator: (identifier) @name "[") value: (_))
      (_ declarator: (_ "*" declarator: (identifier) @name) value: (_))
      (_ declarator: (_ "*" declarator: (_ declarator: (identifier) @name "[")) value: (_))
    ]) @definition.variable @ended)

(translation_unit
  (compound_statement
    (_
      (storage_class_specifier)
      type: (_)
      declarator: [
        (_ declarator: (identifier) @name value: (_))
        (_ declarator: (_ declarator: (identifier) @name "[") value: (_))
        (_ declarator: (_ "*" declarator: (identifier) @name) value: (_))
        (_ declarator: (_ "*" declarator: (_ declarator: (identifier) @name "[")) value: (_))
      ]) @definition.variable @ended))
