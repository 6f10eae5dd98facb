; The names that a text refers to, by role; see references.py.

(comment) @text
(string_content) @text

(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
(decorator (identifier) @call)
(decorator (attribute attribute: (identifier) @call))

(class_definition superclasses: (argument_list (identifier) @inherit))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @inherit)))
(class_definition
  superclasses: (argument_list (subscript value: (identifier) @inherit)))
(class_definition
  superclasses: (argument_list (subscript value: (attribute attribute: (identifier) @inherit))))

(type (identifier) @type)
(type (attribute attribute: (identifier) @type))
(type (subscript value: (identifier) @type))
(type (subscript subscript: (identifier) @type))
(type (subscript subscript: (tuple (identifier) @type)))
(type (list (identifier) @type))
(generic_type (identifier) @type)
(type (binary_operator (identifier) @type))
(type (binary_operator (binary_operator (identifier) @type)))
(except_clause (identifier) @type)
(except_clause (as_pattern (identifier) @type))
(except_clause (tuple (identifier) @type))
(except_clause (attribute attribute: (identifier) @type))
(except_clause (as_pattern (tuple (identifier) @type)))

(import_statement name: (dotted_name (identifier) @import .))
(import_statement name: (aliased_import name: (dotted_name (identifier) @import .)))
(import_from_statement name: (dotted_name (identifier) @import .))
(import_from_statement name: (aliased_import name: (dotted_name (identifier) @import .)))
