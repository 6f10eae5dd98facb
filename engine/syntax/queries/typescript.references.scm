; TypeScript and TSX, in addition to ecmascript.references.scm.

function: (non_null_expression
  [(identifier) @call (_ property: (property_identifier) @call)])

(extends_clause
  value: [(identifier) @inherit (_ property: (property_identifier) @inherit)])
(implements_clause
  [
    (type_identifier) @inherit
    (_ module: (_) name: (type_identifier) @inherit)
    (generic_type
      name: [
        (type_identifier) @inherit
        (_ module: (_) name: (type_identifier) @inherit)
      ])
  ])
(extends_type_clause
  type: [
    (type_identifier) @inherit
    (_ module: (_) name: (type_identifier) @inherit)
    (generic_type
      name: [
        (type_identifier) @inherit
        (_ module: (_) name: (type_identifier) @inherit)
      ])
  ])

; The name that a declaration or a type parameter defines is no primary_type.
(primary_type/type_identifier) @type
(generic_type name: (type_identifier) @type)
(nested_type_identifier name: (type_identifier) @type)

(export_statement
  . "export" . "type" . (export_clause (export_specifier name: (identifier) @import)) . "from")
