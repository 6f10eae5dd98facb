; The names that a text refers to, by role; see references.py.
; The literal parts of interpolated strings have no nodes, so they are not marked.

[
  (comment)
  (block_comment)
  (string)
  (character_literal)
] @text

(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (identifier) @call))
(generic_function function: (identifier) @call)
(generic_function function: (field_expression field: (identifier) @call))
(infix_expression operator: (identifier) @call)
(instance_expression . (type_identifier) @call)
(instance_expression . (generic_type type: (type_identifier) @call))
(instance_expression . (stable_type_identifier (type_identifier) @call))
(instance_expression . (compound_type base: (type_identifier) @call))
(annotation name: (type_identifier) @call)
(annotation name: (stable_type_identifier (type_identifier) @call))

(extends_clause type: (type_identifier) @inherit)
(extends_clause type: (generic_type type: (type_identifier) @inherit))
(extends_clause type: (stable_type_identifier (type_identifier) @inherit))
(derives_clause type: (type_identifier) @inherit)

(_ type: (type_identifier) @type)
(_ return_type: (type_identifier) @type)
(type_arguments (type_identifier) @type)
(stable_type_identifier (type_identifier) @type)
(tuple_type (type_identifier) @type)
(infix_type (type_identifier) @type)
(parameter_types (type_identifier) @type)
(compound_type (type_identifier) @type)

(import_declaration path: (identifier) @import .)
(import_declaration path: (identifier) @import . (namespace_wildcard))
(namespace_selectors (identifier) @import)
(namespace_selectors (arrow_renamed_identifier name: (identifier) @import))
(namespace_selectors (as_renamed_identifier name: (identifier) @import))
