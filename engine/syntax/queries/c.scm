; C, and the parts that C++ shares with it.

(function_definition
  declarator: [
    (function_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
    (pointer_declarator
      declarator: (pointer_declarator
        declarator: (function_declarator declarator: (identifier) @name)))
  ]
  body: (_) @body) @definition.function

; Prototypes.
(declaration
  declarator: [
    (function_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
    (pointer_declarator
      declarator: (pointer_declarator
        declarator: (function_declarator declarator: (identifier) @name)))
  ]) @definition.function

(struct_specifier
  name: (_) @name
  body: (_) @body) @definition.struct

(union_specifier
  name: (_) @name
  body: (_) @body) @definition.struct

(enum_specifier
  name: (_) @name
  body: (_) @body) @definition.enum

(type_definition
  type: (struct_specifier !name body: (_) @body)
  declarator: (type_identifier) @name) @definition.struct

(type_definition
  type: (union_specifier !name body: (_) @body)
  declarator: (type_identifier) @name) @definition.struct

(type_definition
  type: (enum_specifier !name body: (_) @body)
  declarator: (type_identifier) @name) @definition.enum

(type_definition
  declarator: [
    (type_identifier) @name
    (pointer_declarator declarator: (type_identifier) @name)
    (array_declarator declarator: (type_identifier) @name)
    (function_declarator
      declarator: [
        (type_identifier) @name
        (parenthesized_declarator (type_identifier) @name)
        (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name))
      ])
    (pointer_declarator
      declarator: (function_declarator
        declarator: [
          (type_identifier) @name
          (parenthesized_declarator (type_identifier) @name)
          (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name))
        ]))
    (pointer_declarator
      declarator: (pointer_declarator
        declarator: (function_declarator
          declarator: (parenthesized_declarator
            (pointer_declarator declarator: (type_identifier) @name)))))
  ]) @definition.type

(preproc_def
  name: (identifier) @name
  value: (_)) @definition.macro

(preproc_function_def
  name: (identifier) @name
  value: (_) @body) @definition.macro
