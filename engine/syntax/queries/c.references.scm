; The names that a text refers to, by role; see references.py. C, and what C++ shares with it.

(comment) @text
(string_literal) @text
(char_literal) @text
(system_lib_string) @text

function: (identifier) @call
function: (_ field: (field_identifier) @call)
(compound_literal_expression
  type: (_ type: [(type_identifier) @call (_ "struct" name: (type_identifier) @call)]))

; The name that a typedef defines is no type_specifier.
(type_specifier/type_identifier) @type
(struct_specifier name: (type_identifier) @type !body)
(union_specifier name: (type_identifier) @type !body)
(enum_specifier name: (type_identifier) @type !body)
