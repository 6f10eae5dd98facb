; C++, in addition to c.scm.

(template_declaration
  [
    (function_definition)
    (class_specifier)
    (struct_specifier)
    (union_specifier)
    (declaration)
    (alias_declaration)
    (concept_definition)
    (template_declaration)
  ] @inner) @wrapper

(function_definition
  declarator: [
    (_
      declarator: [
        (field_identifier)
        (qualified_identifier)
        (operator_name)
        (destructor_name)
        (template_function)
      ] @name
      parameters: (_))
    (_ ["&" "&&"] (_ declarator: (_) @name parameters: (_)))
    (_
      "*"
      declarator: (_
        declarator: [
          (field_identifier)
          (qualified_identifier)
          (operator_name)
          (template_function)
        ] @name
        parameters: (_)))
    (_
      "*"
      declarator: (_
        "*"
        declarator: (_
          declarator: [
            (field_identifier)
            (qualified_identifier)
            (operator_name)
            (template_function)
          ] @name
          parameters: (_))))
    (operator_cast) @name
    (qualified_identifier name: (operator_cast)) @name
  ]
  body: (_) @body) @definition.function

; = default, = delete
(function_definition
  declarator: (_ declarator: (_) @name parameters: (_))
  [(default_method_clause) (delete_method_clause)]) @definition.function

(declaration
  declarator: [
    (_
      declarator: [(qualified_identifier) (operator_name) (destructor_name)] @name
      parameters: (_))
    (_ ["&" "&&"] (_ declarator: (_) @name parameters: (_)))
  ]) @definition.function

(field_declaration
  declarator: [
    (_
      declarator: [(field_identifier) (operator_name) (destructor_name)] @name
      parameters: (_))
    (_
      "*"
      declarator: (_ declarator: [(field_identifier) (operator_name)] @name parameters: (_)))
    (_
      "*"
      declarator: (_
        "*"
        declarator: (_ declarator: [(field_identifier) (operator_name)] @name parameters: (_))))
    (_
      ["&" "&&"]
      (_ declarator: [(field_identifier) (operator_name)] @name parameters: (_)))
  ]) @definition.function

(class_specifier
  name: (_) @name
  body: (_) @body) @definition.class

; The name of a specialisation can be longer than names may be.
(class_specifier
  name: (_ name: (_) @name arguments: (_))
  body: (_) @body) @definition.class

(struct_specifier
  name: (_ name: (_) @name arguments: (_))
  body: (_) @body) @definition.struct

(namespace_definition
  name: (_) @name
  body: (_) @body) @definition.namespace

; A block after a macro: TEST_CASE("name") { … }.
(declaration_list (compound_statement) @scope.block)

(alias_declaration name: (_) @name) @definition.type

(concept_definition name: (_) @name) @definition.trait

; Also in the block behind a macro that opens a namespace.
(declaration_list
  (declaration
    declarator: (_ declarator: (identifier) @name value: (_))) @definition.variable)
