; The names that a text refers to, by role; see references.py. C, and what C++ shares with it.

(comment) @text
(string_literal) @text
(char_literal) @text
(system_lib_string) @text

(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(compound_literal_expression type: (type_descriptor type: (type_identifier) @call))
(compound_literal_expression
  type: (type_descriptor type: (struct_specifier name: (type_identifier) @call)))

; The name that a typedef defines is no type_specifier.
(type_specifier/type_identifier) @type
(struct_specifier name: (type_identifier) @type !body)
(union_specifier name: (type_identifier) @type !body)
(enum_specifier name: (type_identifier) @type !body)
