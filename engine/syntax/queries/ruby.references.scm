; The names that a text refers to, by role; see references.py.

[
  (comment)
  (string_content)
  (heredoc_content)
] @text

; A bare word may be a variable as well, so it has no mark.
(call method: [(identifier) (constant)] @call)

(superclass [(constant) @inherit (_ "::" name: (constant) @inherit)])

; The names of classes and modules and assigned constants are no primaries.
(_primary/constant) @type
(_primary/scope_resolution name: (constant) @type)
