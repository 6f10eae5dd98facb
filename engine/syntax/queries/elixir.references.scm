; The names that a text refers to, by role; see references.py.

[
  (comment)
  (quoted_content)
] @text

(call target: (identifier) @call.keyword)
(call target: (dot right: (identifier) @call))
(binary_operator operator: "|>" right: (identifier) @call)
; &name/1
(unary_operator
  operand: (binary_operator left: (identifier) @call operator: "/" right: (integer)))

(alias) @type.keyword

; alias Name.{First, Second}
(call (arguments (dot right: (tuple (alias) @import))))
