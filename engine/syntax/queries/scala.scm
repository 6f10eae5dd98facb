; Names and bodies are read from fields: patterns that ask for them take long to compile.
(class_definition) @definition.class
(object_definition) @definition.class
(package_object) @definition.module
(trait_definition) @definition.trait
(enum_definition) @definition.enum
(given_definition) @definition.instance
(function_definition) @definition.function
(function_declaration) @definition.function
(type_definition) @definition.type

(template_body
  [
    (_ pattern: (identifier) @name)
    (_ ["val" "var"] name: (identifier) @name)
  ] @definition.property)
