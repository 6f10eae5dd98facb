; The names that a text refers to, by role; see references.py. Shared by JavaScript and TypeScript.

(comment) @text
(string) @text
(template_string (string_fragment) @text)
(regex) @text

(call_expression function: [(identifier) @call (member_expression property: (_) @call)])
(new_expression
  constructor: [(identifier) @call (member_expression property: (property_identifier) @call)])
(decorator [(identifier) @call (member_expression property: (property_identifier) @call)])

(import_specifier name: (identifier) @import)
(import_clause (identifier) @import)
(namespace_import (identifier) @import)
(export_statement
  . "export" . (export_clause (export_specifier name: (identifier) @import)) . "from")
