; The names that a text refers to, by role; see references.py.

[
  (comment)
  (string_content)
  (nowdoc_string)
  (text)
] @text

(function_call_expression function: (name) @call)
(function_call_expression function: (qualified_name (name) @call))
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression (name) @call)
(object_creation_expression (qualified_name (name) @call))
(attribute (name) @call)
(attribute (qualified_name (name) @call))

(base_clause (name) @inherit)
(base_clause (qualified_name (name) @inherit))
(class_interface_clause (name) @inherit)
(class_interface_clause (qualified_name (name) @inherit))
(use_declaration (name) @inherit)
(use_declaration (qualified_name (name) @inherit))

(named_type (name) @type)
(named_type (qualified_name (name) @type))
(scoped_call_expression scope: (name) @type)
(scoped_call_expression scope: (qualified_name (name) @type))
(scoped_property_access_expression scope: (name) @type)
(scoped_property_access_expression scope: (qualified_name (name) @type))
(class_constant_access_expression . (name) @type)
(class_constant_access_expression . (qualified_name (name) @type))
(binary_expression operator: "instanceof" right: (name) @type)
(binary_expression operator: "instanceof" right: (qualified_name (name) @type))

(namespace_use_clause . (name) @import)
(namespace_use_clause . (qualified_name (name) @import))
