; JavaScript, in addition to ecmascript.references.scm.

(class_heritage (identifier) @inherit)
(class_heritage (member_expression property: (property_identifier) @inherit))
