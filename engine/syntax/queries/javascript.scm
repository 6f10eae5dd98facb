; JavaScript, in addition to ecmascript.scm.

(field_definition
  property: (_) @name
  value: [(arrow_function) (function_expression)] @holder) @definition.method
