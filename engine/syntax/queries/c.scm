; C, and the parts that C++ shares with it.

(function_definition
  declarator: [
    (_ declarator: (identifier) @name parameters: (_))
    (_ "*" declarator: (_ declarator: (identifier) @name parameters: (_)))
    (_
      "*"
      declarator: (_ "*" declarator: (_ declarator: (identifier) @name parameters: (_))))
  ]
  body: (_) @body) @definition.function

; Prototypes.
(declaration
  declarator: [
    (_ declarator: (identifier) @name parameters: (_))
    (_ "*" declarator: (_ declarator: (identifier) @name parameters: (_)))
    (_
      "*"
      declarator: (_ "*" declarator: (_ declarator: (identifier) @name parameters: (_))))
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
  type: (_ "struct" !name body: (_) @body)
  declarator: (type_identifier) @name) @definition.struct

(type_definition
  type: (_ "union" !name body: (_) @body)
  declarator: (type_identifier) @name) @definition.struct

(type_definition
  type: (_ "enum" !name body: (_) @body)
  declarator: (type_identifier) @name) @definition.enum

(type_definition
  declarator: [
    (type_identifier) @name
    (_ "*" declarator: (type_identifier) @name)
    (_ declarator: (type_identifier) @name "[")
    (_
      declarator: [
        (type_identifier) @name
        (_ "(" (type_identifier) @name)
        (_ "(" (_ "*" declarator: (type_identifier) @name))
      ]
      parameters: (_))
    (_
      "*"
      declarator: (_
        declarator: [
          (type_identifier) @name
          (_ "(" (type_identifier) @name)
          (_ "(" (_ "*" declarator: (type_identifier) @name))
        ]
        parameters: (_)))
    (_
      "*"
      declarator: (_
        "*"
        declarator: (_
          declarator: (_ "(" (_ "*" declarator: (type_identifier) @name))
          parameters: (_))))
  ]) @definition.type

(preproc_def
  name: (identifier) @name
  value: (_)) @definition.macro

(preproc_function_def
  name: (identifier) @name
  value: (_) @body) @definition.macro
