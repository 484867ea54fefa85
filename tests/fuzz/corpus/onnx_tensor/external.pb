Bxj
location../wp