(class_declaration
  name: (_) @name
  body: (_) @body) @definition.class

(record_declaration
  name: (_) @name
  body: (_) @body) @definition.class

(interface_declaration
  name: (_) @name
  body: (_) @body) @definition.interface

(annotation_type_declaration
  name: (_) @name
  body: (_) @body) @definition.interface

(enum_declaration
  name: (_) @name
  body: (_) @body) @definition.enum

(method_declaration
  name: (_) @name
  body: (block)? @body) @definition.method

(annotation_type_element_declaration name: (_) @name) @definition.method

(constructor_declaration
  name: (_) @name
  body: (_) @body) @definition.constructor

(compact_constructor_declaration
  name: (_) @name
  body: (_) @body) @definition.constructor

; Constants; other fields are omitted, see symbols.py.
(class_body
  (field_declaration
    (modifiers "static" "final")
    declarator: (variable_declarator name: (_) @name)) @definition.constant)

(class_body
  (field_declaration
    (modifiers "final" "static")
    declarator: (variable_declarator name: (_) @name)) @definition.constant)

(interface_body
  (constant_declaration
    declarator: (variable_declarator name: (_) @name)) @definition.constant)
