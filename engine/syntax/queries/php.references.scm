; The names that a text refers to, by role; see references.py.

[
  (comment)
  (string_content)
  (nowdoc_string)
  (text)
] @text

function: [(name) @call (qualified_name (name) @call)]
(_ object: (_) name: (name) @call arguments: (_))
(_ scope: (_) name: (name) @call arguments: (_))
(object_creation_expression [(name) @call (qualified_name (name) @call)])
(attribute [(name) @call (qualified_name (name) @call)])

(base_clause [(name) @inherit (qualified_name (name) @inherit)])
(class_interface_clause [(name) @inherit (qualified_name (name) @inherit)])
(use_declaration [(name) @inherit (qualified_name (name) @inherit)])

(named_type [(name) @type (qualified_name (name) @type)])
scope: [(name) @type (qualified_name (name) @type)]
(_ . [(name) @type (qualified_name (name) @type)] "::")
(_
  operator: "instanceof"
  right: [(name) @type (qualified_name (name) @type)])

(namespace_use_clause . [(name) @import (qualified_name (name) @import)])
