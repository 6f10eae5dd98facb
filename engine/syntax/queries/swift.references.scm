; The names that a text refers to, by role; see references.py.
; Most fields and names of expressions in patterns would take long to compile.

[
  (comment)
  (multiline_comment)
  (line_str_text)
  (multi_line_str_text)
  (raw_str_part)
  (raw_str_end_part)
  (regex_literal)
] @text

; f(), a.f(), .f()
(_
  .
  [
    (simple_identifier) @call
    (_ suffix: (_ suffix: (simple_identifier) @call))
    (_ . "." (simple_identifier) @call)
  ]
  (call_suffix))
constructed_type: (_ (type_identifier) @call .)
constructed_type: (_ (type_identifier) @call . (type_arguments))
(attribute (user_type (type_identifier) @call .))
(macro_invocation . (simple_identifier) @call)

inherits_from: (user_type (type_identifier) @inherit .)
inherits_from: (user_type (type_identifier) @inherit . (type_arguments))

(user_type (type_identifier) @type .)
(user_type (type_identifier) @type . (type_arguments))

(import_declaration (_ (simple_identifier) @import .))
