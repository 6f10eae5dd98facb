; The names that a text refers to, by role; see references.py.
; The literal parts of interpolated strings have no nodes, so they have no marks.

[
  (comment)
  (block_comment)
  (string)
  (character_literal)
] @text

function: [(identifier) @call (_ field: (identifier) @call)]
(infix_expression operator: (identifier) @call)
(instance_expression
  .
  [
    (type_identifier) @call
    (_ . (type_identifier) @call type_arguments: (_))
    (_ "." (type_identifier) @call)
    (compound_type . (type_identifier) @call)
  ])
(annotation
  name: [(type_identifier) @call (_ "." (type_identifier) @call)])

; Not by field, which is found at the first type only.
(extends_clause
  [
    (type_identifier) @inherit
    (_ . (type_identifier) @inherit type_arguments: (_))
    (_ "." (type_identifier) @inherit)
  ])
(derives_clause (type_identifier) @inherit)

(_ type: (type_identifier) @type)
(_ return_type: (type_identifier) @type)
(type_arguments (type_identifier) @type)
(stable_type_identifier (type_identifier) @type)
(tuple_type (type_identifier) @type)
(infix_type (type_identifier) @type)
(parameter_types (type_identifier) @type)
(compound_type (type_identifier) @type)

(import_declaration (identifier) @import .)
(import_declaration (identifier) @import . (namespace_wildcard))
(namespace_selectors
  [
    (identifier) @import
    (_ name: (identifier) @import)
  ])
