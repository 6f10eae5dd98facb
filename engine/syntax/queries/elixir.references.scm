; The names that a text refers to, by role; see references.py.

[
  (comment)
  (quoted_content)
] @text

(call target: (identifier) @call.keyword)
(call target: (_ operator: "." right: (identifier) @call))
(binary_operator operator: "|>" right: (identifier) @call)
; &name/1
(unary_operator
  operand: (_ left: (identifier) @call operator: "/" right: (integer)))

(alias) @type.keyword

; alias Name.{First, Second}
(call (arguments (_ operator: "." right: (tuple (alias) @import))))
