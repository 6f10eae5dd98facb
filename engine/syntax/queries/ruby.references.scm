; The names that a text refers to, by role; see references.py.

[
  (comment)
  (string_content)
  (heredoc_content)
] @text

; A bare word may be a variable as well, so it has no mark.
(call method: [(identifier) (constant)] @call)

(superclass (constant) @inherit)
(superclass (scope_resolution name: (constant) @inherit))

; The names of classes and modules, and the constants that are assigned, are definitions.
(_ !name !left (constant) @type)
(_ !name (scope_resolution name: (constant) @type))
(scope_resolution scope: (constant) @type)
(scope_resolution scope: (scope_resolution name: (constant) @type))
(assignment right: (constant) @type)
(binary (constant) @type)
(optional_parameter value: (constant) @type)
(keyword_parameter value: (constant) @type)
