; The names that a text refers to, by role; see references.py. Shared by JavaScript and TypeScript.

(comment) @text
(string) @text
(template_string (string_fragment) @text)
(regex) @text

(call_expression function: [(identifier) @call (_ property: (_) @call)])
constructor: (identifier) @call
constructor: (_ property: (property_identifier) @call)
(decorator [(identifier) @call (_ property: (property_identifier) @call)])

(import_specifier name: (identifier) @import)
(import_clause (identifier) @import)
(namespace_import (identifier) @import)
(export_statement
  . "export" . (export_clause (export_specifier name: (identifier) @import)) . "from")
