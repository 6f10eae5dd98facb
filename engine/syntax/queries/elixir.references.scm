; The names that a text refers to, by role; see references.py.

[
  (comment)
  (quoted_content)
] @text

(call target: (identifier) @call)
(call target: (dot right: (identifier) @call))
(alias) @type
