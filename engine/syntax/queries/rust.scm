(attribute_item) @attribute

(function_item
  name: (_) @name
  body: (block) @body) @definition.function

(function_signature_item name: (_) @name) @definition.function

(struct_item
  name: (_) @name
  body: (field_declaration_list)? @body) @definition.struct

(union_item
  name: (_) @name
  body: (_) @body) @definition.struct

(enum_item
  name: (_) @name
  body: (_) @body) @definition.enum

(trait_item
  name: (_) @name
  body: (_) @body) @definition.trait

(type_item name: (_) @name) @definition.type

(associated_type name: (_) @name) @definition.type

(mod_item
  name: (_) @name
  body: (_) @body) @definition.module

(macro_definition name: (_) @name ["{" "(" "["] @body) @definition.macro

(impl_item
  trait: (_)
  type: [
    (type_identifier) @name
    (generic_type type: (_) @name)
    (scoped_type_identifier name: (_) @name)
    (reference_type type: (type_identifier) @name)
    (reference_type type: (generic_type type: (_) @name))
    (primitive_type) @name
  ]) @scope.instance

(impl_item
  !trait
  type: [
    (type_identifier) @name
    (generic_type type: (_) @name)
    (scoped_type_identifier name: (_) @name)
  ]) @scope

(const_item name: (_) @name) @definition.constant

(static_item name: (_) @name) @definition.variable
