; The names that a text refers to, by role; see references.py.
; A type parameter is marked where it is declared, too. Other definitions are named by identifiers.

(line_comment) @text
(block_comment) @text
(string_literal) @text
(character_literal) @text

(method_invocation name: (identifier) @call)
(method_reference (identifier) @call .)
(object_creation_expression type: (type_identifier) @call)
(object_creation_expression type: (generic_type . (type_identifier) @call))
(object_creation_expression type: (scoped_type_identifier (type_identifier) @call .))
(object_creation_expression
  type: (generic_type . (scoped_type_identifier (type_identifier) @call .)))
(marker_annotation name: (identifier) @call)
(marker_annotation name: (scoped_identifier name: (identifier) @call))
(annotation name: (identifier) @call)
(annotation name: (scoped_identifier name: (identifier) @call))

(superclass (type_identifier) @inherit)
(superclass (generic_type . (type_identifier) @inherit))
(superclass (scoped_type_identifier (type_identifier) @inherit .))
(superclass (generic_type . (scoped_type_identifier (type_identifier) @inherit .)))
(type_list (type_identifier) @inherit)
(type_list (generic_type . (type_identifier) @inherit))
(type_list (scoped_type_identifier (type_identifier) @inherit .))
(type_list (generic_type . (scoped_type_identifier (type_identifier) @inherit .)))

(type_identifier) @type
(method_reference . (identifier) @type)

(import_declaration (scoped_identifier name: (identifier) @import) . ";")
