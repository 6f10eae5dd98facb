; The names that a text refers to, by role; see references.py.

[
  (comment)
  (string_content)
  (nowdoc_string)
  (text)
] @text

(function_call_expression function: [(name) @call (qualified_name (name) @call)])
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression [(name) @call (qualified_name (name) @call)])
(attribute [(name) @call (qualified_name (name) @call)])

(base_clause [(name) @inherit (qualified_name (name) @inherit)])
(class_interface_clause [(name) @inherit (qualified_name (name) @inherit)])
(use_declaration [(name) @inherit (qualified_name (name) @inherit)])

(named_type [(name) @type (qualified_name (name) @type)])
(_ scope: [(name) @type (qualified_name (name) @type)])
(class_constant_access_expression . [(name) @type (qualified_name (name) @type)])
(binary_expression
  operator: "instanceof"
  right: [(name) @type (qualified_name (name) @type)])

(namespace_use_clause . [(name) @import (qualified_name (name) @import)])
