//! A change of a resource that must not cost it its server, its account or its data.
