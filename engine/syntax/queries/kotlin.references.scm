; The names that a text refers to, by role; see references.py.

[
  (line_comment)
  (block_comment)
  (string_content)
  (character_literal)
] @text

(call_expression . [(identifier) @call (navigation_expression (identifier) @call .)])
(infix_expression . (_) . (identifier) @call)
(callable_reference (identifier) @call .)
(annotation
  [
    (user_type (identifier) @call .)
    (constructor_invocation (user_type (identifier) @call .))
  ])
(file_annotation
  [
    (user_type (identifier) @call .)
    (constructor_invocation (user_type (identifier) @call .))
  ])

(delegation_specifier
  [
    (user_type (identifier) @inherit .)
    (user_type (identifier) @inherit . (type_arguments))
    (_ . (user_type (identifier) @inherit .))
    (_ . (user_type (identifier) @inherit . (type_arguments)))
  ])

(user_type (identifier) @type .)
(user_type (identifier) @type . (type_arguments))
(navigation_expression . (identifier) @type . "::")

(import (qualified_identifier (identifier) @import .))
