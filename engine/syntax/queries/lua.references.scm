; The names that a text refers to, by role; see references.py.

[
  (comment)
  (string_content)
] @text

(function_call
  name: [
    (identifier) @call
    (dot_index_expression field: (identifier) @call)
    (method_index_expression method: (identifier) @call)
  ])
