(function_declaration
  name: (identifier) @name
  body: (block)? @body) @definition.function

(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: [
        (type_identifier) @receiver
        (pointer_type (type_identifier) @receiver)
        (generic_type type: (type_identifier) @receiver)
        (pointer_type (generic_type type: (type_identifier) @receiver))
      ]))
  name: (field_identifier) @name
  body: (block)? @body) @definition.method

; type Name struct {…}: the declaration is the definition; in a group each of its members is one.
(type_declaration "(" (type_spec name: (_) @name type: (struct_type (field_declaration_list) @body)) @definition.struct)
(type_declaration "(" (type_spec name: (_) @name type: (interface_type "{" @body)) @definition.interface)
(type_declaration "(" (type_spec name: (_) @name) @definition.type)
(type_declaration (type_spec name: (_) @name type: (struct_type (field_declaration_list) @body))) @definition.struct
(type_declaration (type_spec name: (_) @name type: (interface_type "{" @body))) @definition.interface
(type_declaration (type_spec name: (_) @name)) @definition.type
(type_declaration "(" (type_alias name: (_) @name) @definition.type)
(type_declaration (type_alias name: (_) @name)) @definition.type

(interface_type (method_elem name: (_) @name) @definition.method)
